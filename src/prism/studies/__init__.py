"""Measurements that decide, or bear out, how the method is used; `prism bench NAME` runs them."""
