/** Loads custom controllers: one module, or every module of a folder, with a controller as its default export. */
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BUILT_IN_CONTROLLERS, CONTROLLER_NAME, FEED_CLASSES } from 'gatehouse-protocol'
import type { Controller, Topic } from '../topics/controller.ts'
import { runAsController } from './scope.ts'

const MODULE = /\.(?:ts|js|mjs)$/

/** A custom controller cannot be used; the message says which and why. */
export class BadController extends Error {
  override name = 'BadController'
}

/** Throws BadController with the path of an unusable module and the reason. */
export async function loadControllers(path: string): Promise<Controller[]> {
  const files = new Map<string, string>()
  const controllers: Controller[] = []
  for (const file of await modulesAt(resolve(path))) {
    const loaded = await importModule(file)
    const controller = isMembers(loaded) ? loaded.default : undefined
    if (!isController(controller)) throw new BadController(`${file}: ${findFault(controller)}`)
    const other = files.get(controller.name)
    if (other !== undefined) throw new BadController(`${file}: ${other} has a controller named ${controller.name} too`)
    files.set(controller.name, file)
    controllers.push(controller)
  }
  return controllers
}

async function importModule(file: string): Promise<unknown> {
  try {
    return await runAsController(file, () => import(pathToFileURL(file).href))
  } catch (error) {
    throw new BadController(`${file} cannot be loaded: ${describeError(error)}`, { cause: error })
  }
}

/** In one line. */
export function describeError(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replaceAll(/\s*\n\s*/g, ' ')
}

async function modulesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined)
    throw new BadController(`${path}: no such file or folder; check GATEHOUSE_STREAM_CONTROLLERS`)
  if (found.isFile()) return [path]
  const names = (await readdir(path)).filter((name) => MODULE.test(name) && !name.endsWith('.d.ts'))
  if (names.length === 0) throw new BadController(`${path}: the folder contains no module (.ts, .js or .mjs)`)
  return names.sort().map((name) => join(path, name))
}

function isController(value: unknown): value is Controller {
  return findFault(value) === undefined
}

function findFault(value: unknown): string | undefined {
  if (!isMembers(value)) return 'the default export must be a controller: { name, summary, topics }'
  const { name, summary, topics, feedClass, start }: Partial<Record<keyof Controller, unknown>> = value
  if (typeof name !== 'string' || !CONTROLLER_NAME.test(name)) return 'name must be a word'
  if (BUILT_IN_CONTROLLERS.includes(name)) return `the name ${name} is reserved for a built-in controller`
  if (typeof summary !== 'string') return 'summary must be a string'
  if (start !== undefined && typeof start !== 'function') return 'start must be a function'
  if (feedClass !== undefined && !FEED_CLASSES.some((known) => known === feedClass))
    return `feedClass must be one of ${FEED_CLASSES.join(', ')}`
  if (!isMembers(topics)) return 'topics must be an object'
  for (const [topic, rules] of Object.entries(topics)) {
    const fault = topicFault(rules)
    if (fault !== undefined) return `topic ${topic}: ${fault}`
  }
  return undefined
}

function topicFault(rules: unknown): string | undefined {
  if (!isMembers(rules)) return 'must be an object'
  const { summary, needs, publish, subscription }: Partial<Record<keyof Topic, unknown>> = rules
  if (typeof summary !== 'string') return 'summary must be a string'
  if (typeof needs !== 'string') return 'needs must be nothing, identity or a scope'
  if (publish === undefined && subscription === undefined) return 'publish or subscription is required'
  if (publish !== undefined && typeof publish !== 'function') return 'publish must be a function'
  if (subscription === undefined) return undefined
  const { slow, open } = isMembers(subscription) ? subscription : {}
  if (open !== undefined) return typeof open === 'function' ? undefined : 'subscription.open must be a function'
  return slow === 'latest' || slow === 'close' ? undefined : 'subscription.slow must be latest or close'
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
