/** `npm run chart`: checks the Helm chart. `--write` writes examples/kubernetes/gatehouse.yaml from it first. */
import { writeFile } from 'node:fs/promises'
import { checkChart } from './check.ts'
import { MANIFEST, renderManifest } from './render.ts'
import { chartTools, MissingTool } from './tools.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

try {
  const tools = await chartTools()
  if (process.argv.includes('--write')) await writeFile(MANIFEST, await renderManifest(tools.helm))
  const faults = await checkChart(tools, say)
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
} catch (error) {
  if (!(error instanceof MissingTool)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
