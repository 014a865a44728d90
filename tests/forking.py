"""`glossa train` with each (arguments, number of processes) of the command line in turn."""

import json

from glossa.cli import run
from glossa.cli.train import fork

run(lambda argv: [fork(arguments, processes) for arguments, processes in json.loads(argv[0])])
