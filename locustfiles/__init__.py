"""Thin files for `locust -f`: one a scenario, and all of them."""
