/** Lints the chart, and checks what it renders for each set of values against the schemas of Kubernetes. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lintChart, MANIFEST, renderChart, renderManifest, valueSets } from './render.ts'
import { writeSchemas } from './schemas.ts'
import type { ChartTools } from './tools.ts'

/** What is wrong, by set of values; empty where all is well. */
export async function checkChart(tools: ChartTools, report: (line: string) => void): Promise<string[]> {
  const schemas = await writeSchemas(tools)
  const faults: string[] = []
  for (const values of await valueSets()) {
    await lintChart(tools.helm, values)
    const { fault, summary } = await validate(tools.kubeconform, schemas, await renderChart(tools.helm, values))
    report(`${values}: ${summary}`)
    if (fault) faults.push(`${values}: ${summary}`)
  }
  if ((await readFile(MANIFEST, 'utf8')) !== (await renderManifest(tools.helm)))
    faults.push('examples/kubernetes/gatehouse.yaml is stale: run "npm run chart -- --write"')
  return faults
}

export interface Validity {
  readonly fault: boolean
  readonly summary: string
}

/** A kind without a schema is a fault. */
export async function validate(kubeconform: string, schemas: string, manifests: string): Promise<Validity> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-chart-'))
  try {
    const file = join(folder, 'manifests.yaml')
    await writeFile(file, manifests)
    return await new Promise((resolve) => {
      execFile(kubeconform, ['-summary', '-strict', '-schema-location', schemas, file], (error, stdout, stderr) =>
        resolve({ fault: error !== null, summary: `${stdout}${stderr}`.replaceAll(`${file} - `, '').trim() }),
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
