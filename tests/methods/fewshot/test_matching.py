import math

import pytest
import torch
from torch import nn

from tripleshot.methods.fewshot.matching import MatchingProcessor, PairEncoder


def test_two_steps_of_matching_by_hand():
    """All weights zero: gates open by half, and the cell takes in half of a new 1 at each step."""
    processor = MatchingProcessor(width=1, num_steps=2)
    with torch.no_grad():
        for parameter in processor.parameters():
            parameter.zero_()
        processor.of_query.bias[4:6] = 100.0  # tanh of it is 1
    query, prototype = torch.tensor([[1.0, 2.0]]), torch.tensor([3.0, -1.0])
    shown = 0.5 * math.tanh(0.5 * (0.5 * 1) + 0.5 * 1)
    expected = (1 + shown) * 3 - (2 + shown)
    assert processor(query, prototype).item() == pytest.approx(expected)


@pytest.mark.parametrize("num_steps", [0, 1, 2, 4])
def test_half_of_the_state_scores_like_a_whole_lstm_cell(num_steps):
    """The published cell has a state twice as wide as the query; what is left out of ours changes nothing."""
    torch.manual_seed(0)
    d = 3
    processor, cell = MatchingProcessor(d, num_steps), nn.LSTMCell(2 * d, 4 * d)
    used = torch.cat([torch.arange(2 * d) + gate * 4 * d for gate in range(4)])
    with torch.no_grad():
        processor.of_query.weight.copy_(cell.weight_ih[used])
        processor.of_query.bias.copy_((cell.bias_ih + cell.bias_hh)[used])
        processor.of_hidden.weight.copy_(cell.weight_hh[used, : 2 * d])
        processor.of_prototype.weight.copy_(cell.weight_hh[used, 2 * d :])
    queries, prototype = torch.randn(5, 2 * d), torch.randn(2 * d)
    state, memory, hidden = torch.zeros(5, 4 * d), torch.zeros(5, 4 * d), queries
    for _ in range(num_steps):
        whole, memory = cell(queries, (state, memory))
        hidden = queries + whole[:, : 2 * d]
        attention = (hidden @ prototype[:, None]).softmax(1)  # over one prototype
        state = torch.cat([hidden, attention * prototype], dim=1)
    torch.testing.assert_close(processor(queries, prototype), hidden @ prototype)


def test_the_pair_encoder_adds_and_norms():
    encoder = PairEncoder(1, dropout=0.5).eval()
    with torch.no_grad():
        encoder.narrow.weight.zero_()
        encoder.narrow.bias.copy_(torch.tensor([1.0, 0.0]))
    deviation = math.sqrt(2)  # of 3 and 1, unbiased
    expected = [1 / (deviation + 1e-3), -1 / (deviation + 1e-3)]
    assert encoder(torch.tensor([[2.0, 1.0]]))[0].tolist() == pytest.approx(expected)
