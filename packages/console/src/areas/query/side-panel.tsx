/** The side panel: the tree of tables, saved queries with search, and the statements that were run before. */
import { useSignal } from '@preact/signals'
import type { Catalogue } from '../../editor/catalogue.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  classes,
  duration,
  Icon,
  Menu,
  rowCount,
  Segments,
  Time,
  useLoad,
} from '../../ui/index.ts'
import { clearHistory, history } from './history.ts'
import { deleteSaved, isOwn, type Listed, listSaved, PAGE, savedVersion } from './saved.ts'
import { SideList, SideNote } from './side-list.tsx'
import './side-panel.css'
import { readStored, writeStored } from './storage.ts'
import { TableTree, type TreeActions } from './table-tree.tsx'
import { addTab, changeTab, currentTab, tabHref, tabs } from './tabs.ts'

type Shown = 'tables' | 'saved' | 'history'

export function SidePanel(props: TreeActions & { readonly catalogue: Catalogue }) {
  const shown = useSignal<Shown>(readStored<Shown>('side-shown') ?? 'tables')
  return (
    <aside class="query-side" aria-label="Tables, saved queries and history">
      <Segments
        label="What is listed"
        value={shown.value}
        onValue={(value) => {
          shown.value = value
          writeStored('side-shown', value)
        }}
        choices={[
          { value: 'tables', title: 'Tables' },
          { value: 'saved', title: 'Saved' },
          { value: 'history', title: 'History' },
        ]}
      />
      {shown.value === 'tables' && <TableTree {...props} />}
      {shown.value === 'saved' && <SavedList />}
      {shown.value === 'history' && <HistoryList />}
    </aside>
  )
}

function SavedList() {
  const prefix = useSignal('')
  const list = useLoad((signal) => listSaved(prefix.value.trim(), signal), [prefix.value.trim(), savedVersion.value])
  return (
    <SideList label="Find names that begin with" search={prefix}>
      <Await of={list} title="Saved queries could not be listed">
        {({ items, more }) => (
          <>
            {items.length === 0 && (
              <SideNote>
                {prefix.value === ''
                  ? 'Nothing is saved yet. Write a statement and press Save. Queries that others share with you appear here too.'
                  : `No saved query begins with “${prefix.value}”.`}
              </SideNote>
            )}
            <ul>
              {items.map((item) => (
                <SavedItem key={item.id} item={item} />
              ))}
            </ul>
            {more && <SideNote>{`The first ${PAGE} are listed. Type to find others.`}</SideNote>}
          </>
        )}
      </Await>
    </SideList>
  )
}

function SavedItem({ item }: { readonly item: Listed }) {
  const isCurrent = currentTab.value?.saved?.id === item.id
  return (
    <li class={classes('query-side-item', isCurrent && 'current')}>
      <a href={href('query', 'saved', item.id)} aria-current={isCurrent ? 'page' : undefined}>
        <span class="query-side-name">{item.name}</span>
        <span class="query-side-about">
          {item.username ?? 'a former user'}
          {item.shared !== 'private' && <Badge>shared</Badge>}
        </span>
      </a>
      {isOwn(item) && (
        <Menu
          label={`More about ${item.name}`}
          class="button plain icon-button small"
          items={[{ title: 'Delete …', icon: 'trash', danger: true, act: () => void askToDelete(item) }]}
        />
      )}
    </li>
  )
}

async function askToDelete({ id, name, shared, username }: Listed): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete “${name}”?`,
    text:
      shared === 'private'
        ? 'The saved query is deleted. A tab that shows it keeps its text.'
        : `The saved query of ${username ?? 'a former user'} is deleted for everyone it is shared with. A tab that shows it keeps its text.`,
    action: 'Delete',
    danger: true,
  })
  if (!isAgreed) return
  try {
    await deleteSaved(id)
    for (const tab of tabs.value)
      if (tab.saved?.id === id) changeTab(tab.id, { saved: undefined, title: tab.saved.name })
    toast(`“${name}” was deleted`)
    if (currentTab.value !== undefined) go(tabHref(currentTab.value), { replace: true })
  } catch (error) {
    toastError(error, `“${name}” was not deleted`)
  }
}

/** More would only slow the page down; the filter finds the others. */
const SHOWN = 50

function HistoryList() {
  const wanted = useSignal('')
  const found = history.value.filter(({ text }) => text.toLowerCase().includes(wanted.value.trim().toLowerCase()))
  if (history.value.length === 0)
    return <SideNote>The statements you run are listed here. They are stored only in this browser.</SideNote>
  return (
    <SideList label="Find in the history" search={wanted}>
      <ul>
        {found.slice(0, SHOWN).map(({ text, at, ok, rows, milliseconds }) => (
          <li key={text} class="query-side-item">
            <button type="button" onClick={() => go(tabHref(addTab({ text })))}>
              <span class="query-side-text">{text.slice(0, 200)}</span>
              <span class="query-side-about">
                {!ok && <Icon name="error" />}
                <span>
                  <Time at={at} as="relative" /> · {rows !== undefined && `${rowCount(rows)} · `}
                  {duration(milliseconds)}
                </span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <SideNote>Nothing in the history contains this.</SideNote>}
      <Button
        kind="plain"
        size="small"
        icon="trash"
        onClick={() => {
          const before = history.value
          clearHistory()
          toast('The history was cleared', {
            action: {
              title: 'Undo',
              act: () => {
                history.value = before
              },
            },
          })
        }}
      >
        Clear the history
      </Button>
    </SideList>
  )
}
