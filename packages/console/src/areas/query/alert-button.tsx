/** Makes an alert of a result, beside the switch that makes it live. A cell that is marked fills in the condition. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { AlertDialogProps } from '../../alerts/alert-dialog.tsx'
import { conditionFor } from '../../alerts/draft.ts'
import type { ActiveCell } from '../../grid/grid.tsx'
import { refreshBell } from '../../shell/bell.tsx'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Button, useLoad } from '../../ui/index.ts'
import type { Outcome } from './run.ts'
import { type QueryTab, tabTitle } from './tabs.ts'

const LONGEST_NAME = 120

export function AlertButton({
  outcome,
  tab,
  marked,
}: {
  readonly outcome: Outcome
  readonly tab: QueryTab
  readonly marked: Signal<ActiveCell | undefined>
}) {
  const isOpen = useSignal(false)
  const close = () => {
    isOpen.value = false
  }
  const cell = marked.value
  const when = cell === undefined ? '' : conditionFor({ ...cell.column, column: cell.column.name, value: cell.value })
  return (
    <>
      <Button
        size="small"
        icon="bell"
        title="Tells you when rows of this result begin to match, and when they no longer do"
        onClick={() => {
          isOpen.value = true
        }}
      >
        Alert
      </Button>
      {isOpen.value && (
        <AlertDialog
          draft={{
            name: alertName(tab, when),
            statement: outcome.text.trim().replace(/;$/, ''),
            parameters: outcome.parameters,
            when,
          }}
          onClose={close}
          onDone={({ id, name }) => {
            close()
            void refreshBell()
            toast(`The alert “${name}” was made`, {
              action: { title: 'Open', act: () => go(href('alerts', id)) },
            })
          }}
        />
      )}
    </>
  )
}

function alertName(tab: QueryTab, when: string): string {
  const name = when === '' ? tabTitle(tab) : `${tabTitle(tab)}: ${when}`
  return name.slice(0, LONGEST_NAME)
}

/** Loaded when it is first opened. */
function AlertDialog(props: AlertDialogProps) {
  const { data, error } = useLoad(() => import('../../alerts/alert-dialog.tsx'), [])
  useEffect(() => {
    if (error === undefined) return
    toastError(error, 'The dialog could not be loaded')
    props.onClose()
  }, [error])
  return data === undefined ? null : <data.AlertDialog {...props} />
}
