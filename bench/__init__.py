"""Benchmarks: what is measured of Holdfast, of its peers and of the machine; result files, tables, pictures and bars.

`python -m bench --help`, from the repository, with the package `holdfastdb` installed (`make build`) or on the path. It
is no part of that package. `docs/performance.md` says how it measures.

`frame/` is what all benchmarks share, `bars/` has the targets, `results/` what was measured, `peers/` and `rivals/`
others' tables for C++ to compare with. The other folders measure, and the modules in them say what they have by
attributes; nothing else lists them:

    COMMANDS  {name: function}: `python -m bench NAME`; the function's parameters are the command's options
    SUITE     [(name, options)]: what of that `python -m bench all` runs, and how
    TABLES    {kind: function}: makes Markdown of a result file's content where a document says `figures: KIND FILE`
    PLOTS     {benchmark: function}: draws a result file whose benchmark is called that, or that and `-…`, where a
              document shows docs/img/FOLDER-BENCHMARK.svg

Studies in C++ enter themselves (frame/studies.hpp). Those of a folder are a program, whose main is main.cpp. Of what it
prints scripts/study-result makes a result file, by attributes of the folder's `__init__.py`:

    LAYERS     the layers of src/ that its results measure
    STUDY     the study whose result is called as the folder is, without `-STUDY`; the folder's own name if not given

A module may import `_bench`, the benchmarks' C++ half (module.cpp), and the package. Where they are not built, it is
left out: bars, report and plot do without.
"""
