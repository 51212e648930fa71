"""Tracked files that the linter does not read, and why it may leave them out."""
import json, re

# Never in this project's build: pattern, reason.
NEVER = [
    (r'tests/consumers/', 'programs of other projects, which a test builds elsewhere'),
    (r'docs/examples/my_backend/', "a project of its own, which a test builds elsewhere"),
]
# An option, the files that it leaves out by their paths, those by what they include, and the files that prove it on. They count
# as left out if the option is 'disabled', or if it is 'auto' and no proof is compiled, because a dependency is absent.
SWITCHED = [
    ('tests', r'tests/|docs/examples/|.*_cases\.cpp|src/backends/queues/plants\.cpp', None, r'tests/'),
    ('tools', r'benchmarks/|tests/conformance/vulkan_fusion_test\.cpp', r'#include "(graphbench|zoo)/', r'benchmarks/'),
    ('benchmarks', r'benchmarks/micro/(gemm_benchmark|conv_benchmark|kernel_run|fma_peak)\.cpp', None, r'benchmarks/micro/gemm_'),
    ('benchmarks', r'benchmarks/micro/(scheduler/|topology_load\.cpp)', None, r'benchmarks/micro/scheduler/'),
    ('vulkan', r'src/backends/vulkan/|(.*/)?vulkan_[^/]*\.cpp|.*_vulkan\.cpp', None, r'src/backends/vulkan/'),
    ('hwloc', r'benchmarks/micro/topology_load\.cpp', None, r'benchmarks/micro/topology_load'),
]


def build_options(build):
    return {option['name']: option['value'] for option in json.loads((build / 'meson-info/intro-buildoptions.json').read_text())}


class Unread:
    """`reasons`: of each file that may be left out; `left_out`: a line for each reason; `missing`: the files that have none."""

    def __init__(self, tracked, read, options, text_of):
        self.missing, self.reasons, self.left_out = [name for name in tracked if name not in read], {}, []
        for pattern, reason in NEVER:
            self.leave_out(lambda name: re.match(pattern, name), reason)
        if 'thread' not in options.get('b_sanitize', ''):
            self.leave_out(lambda name: name == 'tests/stress/planted_race.cpp', 'only builds with the thread sanitizer have it')
        for option, path, include, proof in SWITCHED:
            def switched(name):
                return re.match(path, name) or include and re.search(include, text_of(name))
            value = options.get(option)
            if value == 'disabled':
                self.leave_out(switched, f'the option {option} is disabled')
            elif value == 'auto' and not any(re.match(proof, name) for name in read):
                self.leave_out(switched, f'the option {option} is auto and what it needs is not here')

    def leave_out(self, matches, reason):
        found = [name for name in self.missing if matches(name)]
        self.missing = [name for name in self.missing if name not in found]
        self.reasons.update(dict.fromkeys(found, reason))
        if found:
            self.left_out.append(f'{len(found)} not read, {", ".join(found[:3])}{" ..." if len(found) > 3 else ""}: {reason}')
