"""`python -m tripleshot` and `torchrun -m tripleshot`."""

from tripleshot.cli import main

main()
