"""How it is maximised: starts, ISM, certificates, and a clustering and W in turns."""
