/** What a product covers: the list, and the dialog that adds to it. */
import { useState } from 'preact/hooks'
import { readFaults } from '../../admin/tagged.ts'
import {
  dangerColumn,
  ErrorNotice,
  FormDialog,
  Segments,
  Table,
  TextArea,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Coverage } from './types.ts'
import { coverageKind, coverageName, coveragePart } from './words.ts'

export function CoverageTable({
  covers,
  onRemove,
}: {
  readonly covers: readonly Coverage[]
  readonly onRemove: (index: number) => void
}) {
  const rows = covers.map((coverage, index) => ({ coverage, index }))
  return (
    <Table
      label="What it covers"
      rows={rows}
      rowKey={({ index }) => index}
      columns={[
        { title: 'Kind', cell: ({ coverage }) => coverageKind(coverage) },
        { title: 'Name', cell: ({ coverage }) => coverageName(coverage) },
        { title: 'Part', cell: ({ coverage }) => <span class="market-data-part">{coveragePart(coverage)}</span> },
        dangerColumn<(typeof rows)[number]>(
          () => 'Remove',
          ({ index }) => onRemove(index),
        ),
      ]}
    />
  )
}

const KINDS = ['feed', 'table', 'controller', 'resource'] as const
type Kind = (typeof KINDS)[number]
type Part = 'all' | 'some' | 'others'

interface Draft {
  readonly kind: Kind
  readonly name: string
  readonly part: Part
  readonly column: string
  readonly listed: string
}

export function CoverageDialog({
  onAdd,
  onClose,
}: {
  /** Rejects with the error of the server. */
  readonly onAdd: (coverage: Coverage) => Promise<void>
  readonly onClose: () => void
}) {
  const [draft, setDraft] = useState<Draft>({ kind: 'feed', name: '', part: 'all', column: '', listed: '' })
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const { isBusy, error, submit } = useSubmit(() => onAdd(toCoverage(draft)))
  const { kind, part } = draft
  return (
    <FormDialog
      title="Add to the product"
      action="Add"
      busy={isBusy}
      disabled={draft.name.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
    >
      <Segments
        label="Kind"
        value={kind}
        onValue={(value) => set({ kind: KINDS.find((each) => each === value) ?? 'feed', part: 'all' })}
        choices={[
          { value: 'feed', title: word('Feed') },
          { value: 'table', title: word('Table') },
          { value: 'controller', title: word('Controller') },
          { value: 'resource', title: word('Resource') },
        ]}
      />
      <TextField
        label="Name"
        hint={kind === 'resource' ? 'The type of resources of another program.' : 'It need not exist yet.'}
        value={draft.name}
        onValue={(name) => set({ name })}
        required
        autofocus
      />
      <Segments
        label="Part"
        value={part}
        onValue={(value) => set({ part: value === 'some' || value === 'others' ? value : 'all' })}
        choices={[
          { value: 'all', title: word('All') },
          { value: 'some', title: partTitle(kind) },
          ...(kind === 'resource' ? [] : [{ value: 'others', title: word('What no product names') }]),
        ]}
      />
      {kind === 'table' && part !== 'all' && (
        <TextField
          label="Column"
          hint="A column that is not null says which rows are covered."
          value={draft.column}
          onValue={(column) => set({ column })}
          required
        />
      )}
      {part === 'some' && (
        <TextArea
          label={partTitle(kind)}
          hint={
            kind === 'feed' || kind === 'controller'
              ? 'One in each line, such as NYSE/* or NYSE/IBM.'
              : 'One in each line.'
          }
          value={draft.listed}
          onValue={(listed) => set({ listed })}
          rows={5}
        />
      )}
      {error !== undefined && (
        <ErrorNotice error={[...(readFaults(error)?.values() ?? [])].join('; ') || error} title="It was not added" />
      )}
    </FormDialog>
  )
}

function partTitle(kind: Kind): string {
  if (kind === 'table') return word('Values')
  return kind === 'resource' ? word('Ids') : word('Topics')
}

function toCoverage({ kind, name, part, column, listed }: Draft): Coverage {
  const lines = listed
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const named = { [kind]: name.trim() }
  if (part === 'all') return named
  const chosen = part === 'others' ? part : lines
  if (kind === 'table') return { ...named, column: column.trim(), values: chosen }
  return kind === 'resource' ? { ...named, ids: lines } : { ...named, topics: chosen }
}
