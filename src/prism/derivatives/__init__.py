"""WHICH derivatives and HOW: directions and spans of a lift, estimators, operators; then expansions, as Taylor jets or
as series of partial derivatives (moments, partials), and frames, which read operators off them."""
