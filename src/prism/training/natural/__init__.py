"""The natural gradient in sample space, with the large blocks of weights factored."""
