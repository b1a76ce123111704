/** The samples in other languages that need a toolchain but no download run as they are written; npm run examples runs all. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { findToolchain, runCommand, SAMPLES, SNIPPETS } from '../../scripts/examples/samples.ts'
import { ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const examples = new URL('../../examples/', import.meta.url).pathname
const local = await Promise.all(
  SAMPLES.filter(({ downloads }) => downloads === undefined).map(async (sample) => {
    const toolchain = await findToolchain(sample)
    return { sample, missing: toolchain.kind === 'missing' && toolchain.reason }
  }),
)
let server: TestServer
let leave: () => Promise<void>
let folder: string

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { flags: { '--demo': 'true', '--demo-market': 'true' } })
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-samples-'))
})
after(async () => {
  await server.stop()
  await leave()
  await rm(folder, { recursive: true, force: true })
})

describe('the samples', { concurrency: true }, () => {
  for (const { sample, missing } of local)
    test(`${sample.name} queries, follows a live query, and ends well`, { skip: missing }, async () => {
      const environment = { ...sample.environment, GATEHOUSE_SERVER: server.issuer }
      const { status, output } = await runCommand(sample.run, { cwd: folder, environment, seconds: 80 })
      assert.equal(status, 0, output)
      assert.ok(output.trimEnd().endsWith(`\n${sample.success}`), output)
      assert.match(output, /^live/m)
    })

  const python = local.find(({ sample }) => sample.run[0] === 'python3')
  test('the sample in Python signs a user in who confirms its code', { skip: python?.missing }, async () => {
    const [program = '', ...args] = python?.sample.run ?? []
    const child = spawn(program, [...args, '--device'], {
      cwd: folder,
      env: { ...process.env, GATEHOUSE_SERVER: server.issuer },
      timeout: 80_000,
    })
    let output = ''
    let approved: Promise<unknown> | undefined
    child.stderr.on('data', (text) => {
      output += text
    })
    for await (const text of child.stdout) {
      output += text
      const [, address] = /^Open (\S+) and confirm the code/m.exec(output) ?? []
      if (address !== undefined) approved ??= confirm(address)
    }
    await approved
    assert.match(output, /python: ok\n$/)
  })
})

async function confirm(address: string): Promise<void> {
  const agent = createUserAgent({ home: server.issuer })
  await visit(agent, await agent.get(address), ALICE)
}

test('the README names every sample and what it was run with', async () => {
  const readme = await readFile(join(examples, 'README.md'), 'utf8')
  for (const entry of await readdir(examples, { withFileTypes: true }))
    if (entry.isDirectory())
      assert.ok(readme.includes(`](${entry.name}/`), `${entry.name} is not in examples/README.md`)
  for (const { name } of [...SAMPLES, ...SNIPPETS]) assert.match(readme, new RegExp(`^(ran|left out) +${name}: `, 'm'))
})
