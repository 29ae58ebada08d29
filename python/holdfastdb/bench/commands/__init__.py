"""The commands of `holdfast bench`, by subject. Importing a module adds its commands to `app.app`."""
