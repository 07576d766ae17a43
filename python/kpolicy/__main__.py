"""`python -m kpolicy`: the command line where its script is not on the path."""

from kpolicy.cli import main

raise SystemExit(main())
