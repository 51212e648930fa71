#!/usr/bin/env python3
"""check_house.py on small trees that break each rule, and on what only looks like a breach."""
import pathlib
import tempfile
import unittest

import check_house


class HouseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def errors(self):
        return check_house.check(self.root)[1]

    def test_small_tree_is_fine(self):
        self.write('src/a.h', 'namespace leat {\nstruct A { int b = 0; };\n}\n')
        self.assertEqual(self.errors(), [])

    def test_long_file(self):
        self.write('src/long.cpp', '\n' * 600)
        self.assertEqual(self.errors(), [])
        self.write('scheduler/src/long.cpp', '\n' * 601)
        self.assertEqual(self.errors(), ['scheduler/src/long.cpp: 601 lines, at most 600'])

    def test_full_folder_counts_its_own_files_alone(self):
        for i in range(45):
            self.write(f'src/room/{i}.h', '')
        self.write('src/room/inner/one.h', '')
        self.assertEqual(self.errors(), [])
        self.write('src/room/meson.build', '')
        self.assertIn('src/room: 46 files, at most 45', self.errors()[0])

    def test_one_name_in_two_namespaces(self):
        self.write('src/a.h', 'namespace leat {\nclass Plan final : public Base<int> {\n};\n}\n')
        self.write('src/b.h', 'namespace leat::vulkan {\nstruct Plan {};\n}  // namespace leat::vulkan\n')
        self.assertEqual(self.errors(), ['Plan: one name for types of several namespaces: leat (src/a.h), leat::vulkan (src/b.h)'])

    def test_namespaces_may_be_nested_and_enums_are_types(self):
        self.write('src/a.h', 'namespace leat {\nenum class Kind : uint8_t { kA };\nnamespace inner {\nenum Kind { kB };\n}\n}\n')
        self.assertIn('Kind: one name', self.errors()[0])

    def test_what_nobody_else_sees_may_have_any_name(self):
        self.write('src/a.cpp', 'namespace leat {\nnamespace {\nstruct Step {};\n}\n}\n')
        self.write('src/b.cpp', 'namespace leat {\nnamespace HWY_NAMESPACE {\nstruct Step {};\n}\n}\n')
        self.write('src/c.h', 'namespace leat {\nclass Outer {\n    struct Step {};\n};\n}\n')
        self.write('src/d.h', 'namespace leat::d {\nstruct Step {};\nvoid f() { struct Other {}; }\n}\n')
        self.write('scheduler/include/leat/scheduler/e.h', 'namespace leat::scheduler {\nstruct Step {};\n}\n')
        self.assertEqual(self.errors(), [])

    def test_text_and_declarations_are_no_types(self):
        self.write('src/a.h', 'namespace leat {\nstruct Step;\n// struct Step {\nconst char* a = "struct Step {";\n#define X struct Step {\nstruct Step {};\n}\n')
        self.write('src/b.h', 'namespace leat::b {\nstruct Step;\nauto t = R"(struct Step {)";\n}\n')
        self.assertEqual(self.errors(), [])

    def test_an_empty_tree_proves_nothing(self):
        self.assertEqual(check_house.check(self.root)[0], 0)


if __name__ == '__main__':
    unittest.main()
