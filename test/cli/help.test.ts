/** The help of every command, compared with a golden file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS } from '../../packages/server/src/cli/commands.ts'
import { matchesGolden } from '../support/golden.ts'
import { runInProcess } from '../support/in-process.ts'
import { runGatehouse } from '../support/process.ts'

test('every command has help with an example', async () => {
  const overview = await runGatehouse(['--help'])
  const pages: string[] = []
  for (const { name } of COMMANDS) {
    const { status, stdout } = await runInProcess([...name.split(' '), '--help'])
    assert.equal(status, 0, name)
    assert.ok(stdout.includes(`  gatehouse ${name}`), `${name} has no example`)
    pages.push(stdout)
  }
  await matchesGolden('help.txt', [overview.stdout, ...pages].join('\n────────\n\n'))
})
