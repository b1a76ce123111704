/** The tabs at the top: select, open, close. */
import { useEffect, useRef } from 'preact/hooks'
import { go } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { classes, Icon, IconButton } from '../../ui/index.ts'
import { forgetRun, tabRun } from './run.ts'
import { closeTab, currentTab, isChanged, newTab, type QueryTab, tabHref, tabs, tabTitle } from './tabs.ts'

export function TabStrip() {
  return (
    <nav class="query-tabs" aria-label="Open queries">
      <div class="query-tabs-list">
        {tabs.value.map((tab) => (
          <TabItem key={tab.id} tab={tab} />
        ))}
      </div>
      <IconButton icon="plus" label="New tab" size="small" onClick={() => go(tabHref(newTab()))} />
    </nav>
  )
}

function TabItem({ tab }: { readonly tab: QueryTab }) {
  const isCurrent = currentTab.value?.id === tab.id
  const title = tabTitle(tab)
  const isUnsaved = tab.saved !== undefined && isChanged(tab)
  const element = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [isCurrent])
  return (
    <span ref={element} class={classes('query-tab', isCurrent && 'current')}>
      <a href={tabHref(tab)} aria-current={isCurrent ? 'page' : undefined} title={title}>
        {tabRun(tab.id).value.isRunning ? (
          <span class="spinner" aria-hidden="true" />
        ) : (
          tab.live && <Icon name="bolt" />
        )}
        <span class="query-tab-title">{title}</span>
        {isUnsaved && (
          <span class="query-tab-changed" title="Not saved">
            <span class="visually-hidden">, not saved</span>
          </span>
        )}
      </a>
      <IconButton icon="close" label={`Close ${title}`} size="small" onClick={() => close(tab)} />
    </span>
  )
}

/** A closed tab can be reopened with its text. */
function close(tab: QueryTab): void {
  const undo = closeTab(tab.id)
  forgetRun(tab.id)
  const show = () => currentTab.value !== undefined && go(tabHref(currentTab.value), { replace: true })
  show()
  if (!isChanged(tab)) return
  toast(`${tabTitle(tab)} was closed`, {
    kind: 'info',
    action: {
      title: 'Undo',
      act() {
        undo()
        show()
      },
    },
  })
}
