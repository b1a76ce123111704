/** Keeps a grouped result: makes a materialized view of its statement. */
import { useSignal } from '@preact/signals'
import { parse, printQuery } from 'gatehouse-iql'
import { useMemo } from 'preact/hooks'
import { statement } from '../../../../client/src/index.ts'
import { usePlatformScopes } from '../../admin/platform-scopes.ts'
import { quoteName, quoteText } from '../../editor/quote.ts'
import { gate } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Code, ErrorNotice, FormDialog, Notice, Select, TextField, useSubmit } from '../../ui/index.ts'
import type { Outcome } from './run.ts'

export interface KeepViewProps {
  readonly outcome: Outcome
  readonly onClose: () => void
}

export function KeepView({ outcome, onClose }: KeepViewProps) {
  const name = useSignal('')
  const readScope = useSignal('')
  const query = useMemo(() => keptQuery(outcome.text), [outcome])
  const scopes = usePlatformScopes(readScope.value)
  const scope = readScope.value === '' ? '' : ` READ SCOPE ${quoteText(readScope.value)}`
  const isNamed = name.value.trim() !== ''
  const text = `CREATE MATERIALIZED VIEW ${isNamed ? quoteName(name.value.trim()) : '…'}${scope} AS\n${query}`
  const { isBusy, error, submit } = useSubmit(async () => {
    await gate.query(statement(text)).result()
    toast(`${name.value.trim()} follows its table from now on`, {
      kind: 'good',
      action: { title: 'Open', act: () => go(href('tables', name.value.trim())) },
    })
    onClose()
  })
  return (
    <FormDialog
      title="Keep this"
      action="Keep"
      busy={isBusy}
      disabled={!isNamed}
      onClose={onClose}
      onSubmit={() => isNamed && submit()}
    >
      <p>The rows are stored, and brought up to date after each commit of the table.</p>
      <TextField
        label="Name of the view"
        value={name.value}
        onValue={(value) => {
          name.value = value
        }}
        maxLength={63}
        autofocus
      />
      <Select
        label="Who can read"
        value={readScope.value}
        onValue={(value) => {
          readScope.value = value
        }}
        choices={[{ value: '', title: 'Everyone who can read the table' }, ...scopes]}
      />
      <Code label="IQL" text={text} />
      {Object.keys(outcome.parameters).length > 0 && (
        <Notice kind="warning">
          A view has no parameters: remove the condition, and write it where the view is read.
        </Notice>
      )}
      {error !== undefined && <ErrorNotice error={error} title="The view was not made" />}
    </FormDialog>
  )
}

/** Without what only says how the rows are shown. */
function keptQuery(text: string): string {
  try {
    const parsed = parse(text)
    return parsed.kind === 'query' ? printQuery({ ...parsed, orderBy: [], limit: undefined, offset: undefined }) : text
  } catch {
    return text
  }
}
