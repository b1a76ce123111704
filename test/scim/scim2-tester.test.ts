/** `scim2 test`, the conformance tests of others for SCIM servers, on both engines. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { inLongRuns } from '../support/engines.ts'
import { DECLARED, type ScimServer, startScimServer } from './scim-server.ts'

/** A path in SCIM2, or the command of that name. */
const SCIM2 = process.env.SCIM2 ?? 'scim2'
const isInstalled = spawnSync(SCIM2, ['--help']).status === 0
const skip = isInstalled
  ? false
  : 'needs scim2-cli: python3 -m venv scim && scim/bin/pip install scim2-cli, then SCIM2=scim/bin/scim2'

inLongRuns('scim2 test', (place) => {
  let server: ScimServer
  before(async () => {
    // It expects that adding a value replaces the others.
    server = await startScimServer(place(), DECLARED.replace('many: true, ', ''))
  })
  after(() => server.stop())

  test('has no errors', { skip }, async (context) => {
    const output = await run([
      '--url',
      `${server.url}/scim/v2`,
      '--header',
      `Authorization: Bearer ${server.token}`,
      'test',
    ])
    const count = (word: string) => output.match(new RegExp(`^${word}\\b`, 'gm'))?.length ?? 0
    context.diagnostic(
      `${count('SUCCESS')} passed, ${count('SKIPPED')} skipped, ${count('ERROR') + count('CRITICAL')} failed`,
    )
    assert.ok(count('SUCCESS') > 60, output)
    assert.deepEqual(output.match(/^(ERROR|CRITICAL)\b.*\n.*/gm) ?? [], [])
    assert.doesNotMatch(output, /Traceback/)
  })
})

async function run(args: readonly string[]): Promise<string> {
  const child = spawn(SCIM2, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return out + errors
}
