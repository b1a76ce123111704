/** `npm run conformance`: runs every test with a checklist id in its name and records the results for docs/conformance.md. */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SHARED_SERVER, startPostgres } from '../../test/support/postgres.ts'
import type { Results } from './results.ts'
import { idsIn, testsById } from './tests.ts'

interface FinishedTest {
  readonly name: string
  readonly file: string
  readonly result: 'passed' | 'failed' | 'skipped'
}

const root = fileURLToPath(new URL('../..', import.meta.url))

const finished = await runTests([...new Set([...testsById().values()].flat())].sort())
await writeFile(
  `${root}/test/conformance/golden/results.json`,
  `${JSON.stringify(summarise(finished), undefined, 2)}\n`,
)
const failed = finished.filter(({ result }) => result === 'failed')
for (const { name, file } of failed) process.stdout.write(`failed: ${name} (${file})\n`)
process.exitCode = failed.length > 0 ? 1 : 0

function summarise(tests: readonly FinishedTest[]): Results {
  const results: Record<string, { files: string[]; passed: number; failed: number }> = {}
  for (const { name, file, result } of tests) {
    if (result === 'skipped') continue
    for (const id of idsIn(name)) {
      const row = results[id] ?? { files: [], passed: 0, failed: 0 }
      results[id] = row
      if (!row.files.includes(file)) row.files.push(file)
      row[result] += 1
    }
  }
  const sorted = Object.entries(results).sort(([one], [other]) => (one < other ? -1 : 1))
  for (const [, row] of sorted) row.files.sort()
  return Object.fromEntries(sorted)
}

async function runTests(files: readonly string[]): Promise<FinishedTest[]> {
  const postgres = await startPostgres()
  const tests: FinishedTest[] = []
  try {
    const child = spawn(
      process.execPath,
      ['--test', '--test-concurrency=2', '--test-reporter=./scripts/conformance/reporter.ts', ...files],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, [SHARED_SERVER]: postgres.url, TEST_LONG: 'true' },
      },
    )
    for await (const text of createInterface({ input: child.stdout })) {
      const test = JSON.parse(text) as FinishedTest
      // Tests that are generated from a table are attributed to the test file next to it.
      const file = relative(root, test.file).replace(/(?<!\.test)\.ts$/, '.test.ts')
      tests.push({ ...test, file })
    }
  } finally {
    await postgres.stop()
  }
  return tests
}
