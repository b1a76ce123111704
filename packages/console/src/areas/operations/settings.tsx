/** The effective settings: each with its value, its source and its documentation. */
import { useState } from 'preact/hooks'
import { read } from '../../admin/requests.ts'
import { may } from '../../gate.ts'
import { server } from '../../server.ts'
import type { AreaProps } from '../../shell/area.ts'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { saveFile } from '../../ui/file.ts'
import { Await, Badge, Button, count, Empty, Icon, SearchField, Segments, Table, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { SettingItem } from './replies.ts'

const MASK = '********'

const SOURCES: Readonly<Record<SettingItem['source'], string>> = {
  default: word('default'),
  file: word('file'),
  settings_file: word('settings file'),
  environment: word('environment'),
  flag: word('flag'),
}

export function Settings({ query }: AreaProps) {
  const [search, setSearch] = useState(query.get('search') ?? '')
  const source = query.get('source') ?? ''
  const loaded = useLoad((signal) => read<{ items: readonly SettingItem[] }>('/admin/settings', signal), [])
  const show = (text: string, from: string) => {
    setSearch(text)
    go(href('operations', 'settings', { search: text || undefined, source: from || undefined }), { replace: true })
  }
  return (
    <div class="operations-list">
      <div class="operations-bar">
        <SearchField label="Search settings" value={search} onValue={(text) => show(text, source)} />
        <Segments
          label="Source"
          value={source}
          onValue={(from) => show(search, from)}
          choices={[
            { value: '', title: 'All' },
            { value: 'given', title: 'Not default' },
          ]}
        />
        {may('Identity/Admin') && <ExportConfiguration />}
      </div>
      <Await of={loaded} title="The settings could not be read">
        {({ items }) => {
          const found = items.filter((item) => isFound(item, search, source))
          return (
            <>
              <p class="quiet" role="status">
                {count(found.length)} of {count(items.length)} settings of the node that answered. Flags override the
                environment, which overrides the declarative file.
              </p>
              {found.length === 0 ? (
                <Empty
                  icon="settings"
                  title="No setting matches"
                  actions={<Button onClick={() => show('', '')}>Show all</Button>}
                >
                  Search matches names, values and what a setting does.
                </Empty>
              ) : (
                <Table
                  label="Settings"
                  rows={found}
                  rowKey={({ name }) => name}
                  columns={[
                    {
                      title: 'Setting',
                      cell: (item) => (
                        <>
                          <Name of={item} />
                          <span class="setting-about">{item.description}</span>
                        </>
                      ),
                    },
                    { title: 'Value', cell: (item) => <Value of={item} /> },
                    {
                      title: 'Source',
                      cell: ({ source: from }) => (
                        <Badge kind={from === 'default' ? undefined : 'accent'}>{SOURCES[from]}</Badge>
                      ),
                    },
                    { title: 'Environment', cell: ({ environment }) => <code>{environment}</code>, wide: true },
                  ]}
                />
              )}
            </>
          )
        }}
      </Await>
    </div>
  )
}

/** Roles, users, clients, tables, views, feeds and controllers as a declarative file. */
function ExportConfiguration() {
  const [isBusy, setBusy] = useState(false)
  const exportIt = async () => {
    setBusy(true)
    try {
      await exportConfiguration()
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <Button
      class="operations-export"
      icon="download"
      title="Roles, users, applications, tables, views, feeds and controllers, as a declarative file"
      busy={isBusy}
      onClick={() => void exportIt()}
    >
      Export configuration
    </Button>
  )
}

async function exportConfiguration(): Promise<void> {
  const { declaration, omitted } = await read<{ declaration: object; omitted: readonly string[] }>('/admin/declaration')
  saveFile(new Blob([`${JSON.stringify(declaration, null, 2)}\n`], { type: 'application/json' }), 'gatehouse.json')
  toast(
    omitted.length === 0
      ? 'The configuration was exported, without passwords and secrets'
      : `The configuration was exported, without ${omitted.join(', ')}`,
  )
}

function Name({ of: { name } }: { readonly of: SettingItem }) {
  return (
    <a class="setting-name" href={`${server.base}/docs/settings#${name}`} target="_blank" rel="noreferrer">
      <code>{name}</code>
      <Icon name="external" />
      <span class="visually-hidden">, documentation in a new tab</span>
    </a>
  )
}

function Value({ of: { value } }: { readonly of: SettingItem }) {
  if (value === '') return <span class="quiet">empty</span>
  if (value === MASK) return <Badge>secret, not shown</Badge>
  return <code class="setting-value">{value}</code>
}

function isFound(item: SettingItem, search: string, wanted: string): boolean {
  const { name, environment, value, source, description = '' } = item
  const text = `${name} ${name.replaceAll('_', ' ')} ${environment} ${value} ${description}`.toLowerCase()
  const words = search.toLowerCase().split(/\s+/)
  return words.every((each) => text.includes(each)) && (wanted !== 'given' || source !== 'default')
}
