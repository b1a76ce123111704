/** Checkouts of the product: this one, and another to compare it with. */
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { benchPath, type LaunchOptions, launch, type Program } from './program.ts'

export interface Checkout {
  readonly name: string
  readonly root: string
}

export const HERE: Checkout = { name: 'this checkout', root: benchPath('..') }

export function checkoutAt(folder: string): Checkout {
  const root = resolve(folder)
  if (!existsSync(chooseProgram(root)) || !existsSync(join(root, 'node_modules')))
    throw new Error(`${root} has no program or no node_modules: name a checkout with its packages`)
  return { name: basename(root), root }
}

/** Runs the checkout's own program, with the Node that runs the benchmark. */
export function serve(
  { root }: Checkout,
  flags: Readonly<Record<string, string>>,
  options?: LaunchOptions,
): Promise<Program> {
  const args = Object.entries(flags).map(([name, value]) => `${name}=${value}`)
  return launch(process.execPath, [chooseProgram(root), 'serve', ...args], options)
}

/** Before version 1.0.0 it was in bin/. */
function chooseProgram(root: string): string {
  const program = join(root, 'gatehouse')
  return existsSync(program) ? program : join(root, 'bin', 'gatehouse.js')
}
