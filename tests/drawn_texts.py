"""What a figure says, and where: for tests that nothing is cut or covered."""

from matplotlib.backends.backend_agg import FigureCanvasAgg


def texts_of(figure):
    """Return every text that can be seen, with its box in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    found = [text for text in figure.findobj(lambda part: hasattr(part, "get_text")) if text.get_text().strip()]
    return [(text, text.get_window_extent(canvas.get_renderer())) for text in found if text.get_visible()]
