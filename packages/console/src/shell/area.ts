/** The areas: their names, who sees them, and how they are loaded. An area that is not built yet is not listed. */
import { computed } from '@preact/signals'
import type { ComponentType } from 'preact'
import { may } from '../gate.ts'
import { server } from '../server.ts'
import type { IconName } from '../ui/icon.tsx'
import type { AreaProps } from './area-props.ts'

export interface Area {
  /** The name of its folder, and the first part of its URLs. */
  readonly name: string
  readonly title: string
  readonly about: string
  readonly icon: IconName
  /** One of them is needed; `Platform/` stands for any right of the platform. */
  readonly rights: readonly string[]
  /** The service that it uses. */
  readonly service: 'query' | 'streaming' | 'identity' | undefined
  /** Set to true together with the first version of the area that users can work with. */
  readonly built: boolean
  readonly load: () => Promise<{ readonly default: ComponentType<AreaProps> }>
}

export const AREAS: readonly Area[] = [
  {
    name: 'query',
    title: 'Query',
    about: 'Write IQL, watch results live, draw charts',
    icon: 'query',
    rights: ['Platform/'],
    service: 'query',
    built: true,
    load: () => import('../areas/query/index.tsx'),
  },
  {
    name: 'boards',
    title: 'Boards',
    about: 'Charts and tables side by side, live',
    icon: 'board',
    rights: ['Platform/'],
    service: 'query',
    built: true,
    load: () => import('../areas/boards/index.tsx'),
  },
  {
    name: 'tables',
    title: 'Tables',
    about: 'Columns, rows, import and export',
    icon: 'table',
    rights: ['Platform/'],
    service: 'query',
    built: true,
    load: () => import('../areas/tables/index.tsx'),
  },
  {
    name: 'streams',
    title: 'Streams',
    about: 'Topics, messages and live connections',
    icon: 'stream',
    rights: ['Platform/'],
    service: 'streaming',
    built: true,
    load: () => import('../areas/streams/index.tsx'),
  },
  {
    name: 'people',
    title: 'People',
    about: 'Users, roles, sessions and rights',
    icon: 'people',
    rights: ['Identity/Admin'],
    service: undefined,
    built: true,
    load: () => import('../areas/people/index.tsx'),
  },
  {
    name: 'applications',
    title: 'Applications',
    about: 'Clients, their secrets and the code to connect them',
    icon: 'application',
    rights: ['Identity/Admin'],
    service: undefined,
    built: true,
    load: () => import('../areas/applications/index.tsx'),
  },
  {
    name: 'operations',
    title: 'Operations',
    about: 'Health, running queries, metrics, keys, audit log',
    icon: 'operations',
    rights: ['Platform/Admin', 'Identity/Admin'],
    service: undefined,
    built: true,
    load: () => import('../areas/operations/index.tsx'),
  },
]

/** Those that the navigation lists: built, served by this node, and allowed by the token. */
export const visibleAreas = computed(() =>
  AREAS.filter(
    ({ built, service, rights }) =>
      built && (service === undefined || server.services.includes(service)) && may(...rights),
  ),
)

export function findArea(name: string | undefined): Area | undefined {
  return AREAS.find((area) => area.name === name && area.built)
}

const loaded = new Map<string, Promise<ComponentType<AreaProps>>>()

/** Script and style sheet of an area, loaded once. */
export function loadArea(area: Area): Promise<ComponentType<AreaProps>> {
  const known = loaded.get(area.name)
  if (known !== undefined) return known
  const loading = Promise.all([area.load(), loadStyle(area.name)]).then(([module]) => module.default)
  loaded.set(area.name, loading)
  // So that another attempt can succeed.
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
