/** `npm run examples`: runs the samples in other languages against a demonstration, and says what was run and what was not. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveProcess } from '../../test/support/process.ts'
import { findToolchain, runCommand, SAMPLES, type Sample, SNIPPETS } from './samples.ts'

/** The first run fetches packages and builds. */
const PREPARE_SECONDS = 1200
const RUN_SECONDS = 180

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-examples-'))
const server = await serveProcess(['--demo', '--demo-market', '--data', join(folder, 'data')])
const summary: string[] = []
let failures = 0
try {
  for (const sample of SAMPLES) {
    const toolchain = await findToolchain(sample)
    if (toolchain.kind === 'missing') {
      summary.push(`left out  ${sample.name}: ${toolchain.reason}`)
      continue
    }
    process.stdout.write(`# ${sample.name} (${toolchain.version})\n`)
    const hasPassed = await runSample(sample)
    if (!hasPassed) failures++
    summary.push(`${hasPassed ? 'ran     ' : 'FAILED  '}  ${sample.name}: ${toolchain.version}`)
  }
  for (const { name, reason } of SNIPPETS) summary.push(`left out  ${name}: ${reason}`)
} finally {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}
process.stdout.write(`\n${summary.join('\n')}\n`)
process.exitCode = failures > 0 ? 1 : 0

/** In the temporary folder, since a sample may write a chart. */
async function runSample({ prepare, run, environment = {}, success }: Sample): Promise<boolean> {
  const options = {
    cwd: folder,
    environment: { ...environment, GATEHOUSE_SERVER: server.issuer },
    onOutput: (text: string) => process.stdout.write(text),
  }
  for (const command of prepare) {
    const { status } = await runCommand(command, { ...options, seconds: PREPARE_SECONDS })
    if (status !== 0) return false
  }
  const { status, output } = await runCommand(run, { ...options, seconds: RUN_SECONDS })
  return status === 0 && output.trimEnd().endsWith(success)
}
