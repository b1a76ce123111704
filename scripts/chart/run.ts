/**
 * `npm run chart`: checks the Helm chart. `--write` writes examples/kubernetes/gatehouse.yaml from it first. `--tools` only builds the tools,
 * which takes minutes the first time.
 */
import { writeFile } from 'node:fs/promises'
import { checkChart } from './check.ts'
import { MANIFEST, renderManifest } from './render.ts'
import { chartTools, MissingTool } from './tools.ts'

const isPreparation = process.argv.includes('--tools')

try {
  const tools = await chartTools()
  if (process.argv.includes('--write')) await writeFile(MANIFEST, await renderManifest(tools.helm))
  const faults = isPreparation ? [] : await checkChart(tools, (line) => process.stdout.write(`${line}\n`))
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
} catch (error) {
  if (!(error instanceof MissingTool)) throw error
  process.stderr.write(`The chart cannot be checked. ${error.message}\n`)
  // Tests that need them are skipped with the same words.
  process.exitCode = isPreparation ? 0 : 2
}
