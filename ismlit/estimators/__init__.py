"""What scikit-learn's users take: reductions, KDAC, and kernel dependence networks."""
