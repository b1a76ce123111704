/** Loads controllers that operators add: one module, or every module of a folder, each with a controller as its default export. */
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Controller, Topic } from '../controller.ts'

const MODULE = /\.(?:ts|js|mjs)$/
const BUILT_IN = ['Auth', 'Platform']

/** Throws with the path of the module that cannot be used and the reason. */
export async function loadControllers(path: string): Promise<Controller[]> {
  const controllers: Controller[] = []
  for (const file of await modulesAt(resolve(path))) {
    const loaded: unknown = await import(pathToFileURL(file).href)
    const controller = isMembers(loaded) ? loaded.default : undefined
    const fault = faultOf(controller)
    if (fault !== undefined || !isController(controller)) throw new Error(`${file}: ${fault}`)
    controllers.push(controller)
  }
  return controllers
}

async function modulesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new Error(`${path}: there is no such file or folder of controllers`)
  if (found.isFile()) return [path]
  const names = (await readdir(path)).filter((name) => MODULE.test(name) && !name.endsWith('.d.ts'))
  if (names.length === 0) throw new Error(`${path}: the folder holds no module (.ts, .js or .mjs)`)
  return names.sort().map((name) => join(path, name))
}

function isController(value: unknown): value is Controller {
  return faultOf(value) === undefined
}

function faultOf(value: unknown): string | undefined {
  if (!isMembers(value)) return 'the default export must be a controller: { name, summary, topics }'
  const { name, summary, topics, start } = value
  if (typeof name !== 'string' || !/^[A-Za-z][\w.]*$/.test(name)) return 'the name of a controller is a word'
  if (BUILT_IN.includes(name)) return `the name ${name} belongs to a controller of the gateway itself`
  if (typeof summary !== 'string') return 'a controller has a summary'
  if (start !== undefined && typeof start !== 'function') return 'start must be a function'
  if (!isMembers(topics)) return 'a controller has topics'
  for (const [topic, rules] of Object.entries(topics)) {
    const fault = topicFault(rules)
    if (fault !== undefined) return `topic ${topic}: ${fault}`
  }
  return undefined
}

function topicFault(rules: unknown): string | undefined {
  if (!isMembers(rules)) return 'it must be an object'
  const { summary, needs, publish, subscription }: Partial<Record<keyof Topic, unknown>> = rules
  if (typeof summary !== 'string') return 'it has a summary'
  if (typeof needs !== 'string') return 'it says what it needs: nothing, identity or a scope'
  if (publish === undefined && subscription === undefined) return 'it must take Publish or Sub'
  if (publish !== undefined && typeof publish !== 'function') return 'publish must be a function'
  if (subscription === undefined) return undefined
  const slow = isMembers(subscription) ? subscription.slow : undefined
  return slow === 'latest' || slow === 'close' ? undefined : 'a subscription says slow: latest or close'
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
