"""Results as tables: Arrow inside, pandas or polars for who works with them."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tripleshot.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Tabular(ABC):
    """Something whose content is a table."""

    @abstractmethod
    def to_arrow(self) -> "pa.Table":
        """Return the content as an Arrow table."""

    def to_pandas(self) -> "pd.DataFrame":
        """Return the content as a pandas data frame; needs pandas."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise InputError("to_pandas needs pandas: pip install pandas") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """Return the content as a polars data frame; needs polars."""
        try:
            import polars
        except ImportError:
            raise InputError("to_polars needs polars: pip install polars") from None
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame
