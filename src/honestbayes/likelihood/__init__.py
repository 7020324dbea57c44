"""How likely the data of a feature are: closed forms, quadrature, learned distributions."""
