"""`python -m honestbayes` runs the demonstration."""

from honestbayes.demo import main

if __name__ == "__main__":
    main()
