/** `npm run runtimes`: fetches Node 20, Deno and Bun from the npm registry into a temporary folder and runs the client library in them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-runtimes-'))
try {
  process.exitCode = run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(): number {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const packages = join(folder, 'node_modules')
  const node = `node-${process.platform}-${process.arch}`
  const installed = start('npm', ['install', '--no-audit', '--no-fund', `${node}@20`, 'deno', 'bun'], folder)
  if (installed !== 0) return installed
  symlinkSync(join(packages, node, 'bin', 'node'), join(packages, '.bin', 'node20'))
  const path = [join(packages, '.bin'), process.env.PATH].join(delimiter)
  return start(process.execPath, ['--test', 'test/client/runtimes.test.ts'], root, { ...process.env, PATH: path })
}

function start(program: string, args: readonly string[], cwd: string, env = process.env): number {
  return spawnSync(program, args, { cwd, env, stdio: 'inherit' }).status ?? 1
}
