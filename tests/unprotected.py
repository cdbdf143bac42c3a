"""`python -m unprotected serve`: the service with JSON that is read as Python reads it, to see that a gate notices."""

import json

from takeup.cli import main
from takeup.service import body

if __name__ == "__main__":
    body._JSON = json.JSONDecoder()
    body._check_size = lambda *_: None
    body._check = lambda *_: None
    main()
