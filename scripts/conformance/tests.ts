/** Finds the tests that have an id of the acceptance checklist in their name. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rowIds } from '../../test/conformance/checklist.ts'
import { fapiModuleIds } from '../../test/conformance/fapi2/modules.ts'
import { moduleIds } from '../../test/conformance/modules.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ID = /\b(?:[BC]-\d{2,3}|(?:oidcc|fapi2)-[\w-]+)/g

/** The ids in the name of a test. */
export function idsIn(name: string): string[] {
  return name.match(ID) ?? []
}

/** Test files by id. Names may be generated from a table, so every string of a test file counts; comments do not. */
export function testsById(): Map<string, string[]> {
  const files = new Map<string, string[]>()
  for (const id of moduleIds) files.set(id, ['test/conformance/modules.test.ts'])
  for (const id of fapiModuleIds) files.set(id, ['test/conformance/fapi2/modules.test.ts'])
  for (const id of rowIds.flatMap(idsIn)) files.set(id, ['test/conformance/checklist.test.ts'])
  for (const file of globSync('test/**/*.test.ts', { cwd: root }).sort()) {
    if (file.endsWith('rows.test.ts')) continue
    for (const id of new Set(findStrings(readFileSync(`${root}/${file}`, 'utf8')).flatMap(idsIn))) {
      files.set(id, [...(files.get(id) ?? []), file])
    }
  }
  return files
}

function findStrings(source: string): string[] {
  const withoutComments = source.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  return withoutComments.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? []
}
