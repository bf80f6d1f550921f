"""A solution as one HTML file: slices of it under sliders, evaluated in the page."""
