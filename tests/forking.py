"""`glossa train` with each (arguments, number of processes) of the command line in turn."""

import json

from glossa.cli import run
from glossa.cli.processes import fork
from glossa.train.plan.catalog import parse

run(lambda argv: [fork(parse(arguments), processes) for arguments, processes in json.loads(argv[0])])
