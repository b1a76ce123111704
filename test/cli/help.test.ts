/** The help of every command, compared with a golden file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS } from '../../src/cli/commands.ts'
import { matchesGolden } from '../support/golden.ts'
import { runGatehouse } from '../support/process.ts'

test('every command has help with an example', async () => {
  const overview = await runGatehouse(['--help'])
  const pages = new Map<string, string>()
  const waiting = [...COMMANDS]
  const runSome = async () => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) {
      const { status, stdout } = await runGatehouse([...command.name.split(' '), '--help'])
      assert.equal(status, 0, command.name)
      assert.ok(stdout.includes(`  gatehouse ${command.name}`), `${command.name} has no example`)
      pages.set(command.name, stdout)
    }
  }
  await Promise.all([runSome(), runSome(), runSome(), runSome()])
  const inOrder = COMMANDS.map(({ name }) => pages.get(name) ?? '')
  await matchesGolden('help.txt', [overview.stdout, ...inOrder].join('\n────────\n\n'))
})
