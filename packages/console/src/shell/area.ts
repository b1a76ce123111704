/** An area of the console: its entry in the navigation, its loading, and the address that its page gets. */
import type { ComponentType } from 'preact'
import { may } from '../gate.ts'
import { server } from '../server.ts'
import type { IconName } from '../ui/index.ts'

export interface AreaProps {
  /** The address below the area: `/console/people/42/roles` is `['42', 'roles']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export interface Area {
  /** The name of its folder, and the first part of its addresses. */
  readonly name: string
  readonly title: string
  readonly about: string
  readonly icon: IconName
  /** The user needs one of them; `Platform/` stands for any right of the platform. */
  readonly rights: readonly string[]
  /** The service that it uses. */
  readonly service: 'query' | 'streaming' | 'identity' | 'wire' | undefined
  readonly load: () => Promise<{ readonly default: ComponentType<AreaProps> }>
}

/** Whether the navigation lists it: this node runs its service, and the token allows it. */
export function isVisible({ service, rights }: Area): boolean {
  return (service === undefined || isServed(service)) && may(...rights)
}

function isServed(service: string): boolean {
  return service === 'wire' ? server.wire !== undefined : server.services.includes(service)
}

const loaded = new Map<string, Promise<ComponentType<AreaProps>>>()

/** Loads the script and the style sheet of an area, once. */
export function loadArea(area: Area): Promise<ComponentType<AreaProps>> {
  const known = loaded.get(area.name)
  if (known !== undefined) return known
  const loading = Promise.all([area.load(), loadStyle(area.name)]).then(([module]) => module.default)
  loaded.set(area.name, loading)
  // The next attempt loads it again.
  loading.catch(() => loaded.delete(area.name))
  return loading
}

function loadStyle(name: string): Promise<void> {
  const url = Object.hasOwn(server.areaStyles, name) ? server.areaStyles[name] : undefined
  if (url === undefined) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = url
    link.onload = () => resolve()
    link.onerror = () => reject(new Error(`The style sheet of ${name} could not be loaded`))
    document.head.append(link)
  })
}
