/** The attributes that are declared, and the values of a user or an application, to read and to change. */
import { useState } from 'preact/hooks'
import type { AdminAttribute } from '../../../client/src/index.ts'
import { Badge, Button, ErrorNotice, Facts, Form, Section, Select, TextArea, TextField, useLoad } from '../ui/index.ts'
import { read } from './requests.ts'
import type { Tagged } from './tagged.ts'

type Value = string | number | boolean
export type Values = Readonly<Record<string, readonly Value[]>>

export function useAttributes() {
  return useLoad(
    async (signal) => (await read<{ items: readonly AdminAttribute[] }>('/admin/attributes', signal)).items,
    [],
  )
}

/** Nothing where no attribute is declared. */
export function AttributeValues({
  of,
  values,
  about,
  done,
}: {
  readonly of: Pick<Tagged<unknown>, 'change'>
  readonly values: Values
  readonly about: string
  /** What is said after a change. */
  readonly done: string
}) {
  const { data: attributes = [], error, reload } = useAttributes()
  const [draft, setDraft] = useState<Readonly<Record<string, string>>>()
  if (error !== undefined)
    return <ErrorNotice error={error} title="The attributes could not be loaded" onRetry={reload} />
  if (attributes.length === 0) return null
  const edit = () => setDraft(Object.fromEntries(attributes.map(({ name }) => [name, joinValues(values, name)])))
  if (draft !== undefined)
    return (
      <EditValues
        {...{ attributes, values, draft, onDraft: setDraft }}
        save={(patch) => of.change({ attributes: patch }, done)}
      />
    )
  return (
    <Section
      title="Attributes"
      about={about}
      actions={
        <Button size="small" icon="edit" onClick={edit}>
          Change attributes
        </Button>
      }
    >
      <Facts of={attributes.map(({ name }) => [name, <Shown values={listValues(values, name)} />] as const)} />
    </Section>
  )
}

function Shown({ values }: { readonly values: readonly Value[] }) {
  if (values.length === 0) return <span class="quiet">none</span>
  return (
    <span class="badges">
      {values.map((value) => (
        <Badge key={String(value)}>{String(value)}</Badge>
      ))}
    </span>
  )
}

function EditValues({
  attributes,
  values,
  draft,
  onDraft,
  save,
}: {
  readonly attributes: readonly AdminAttribute[]
  readonly values: Values
  readonly draft: Readonly<Record<string, string>>
  readonly onDraft: (draft: Readonly<Record<string, string>> | undefined) => void
  readonly save: (patch: object) => Promise<boolean>
}) {
  const [busy, setBusy] = useState(false)
  const submit = async () => {
    const changed = attributes.filter(({ name }) => draft[name] !== joinValues(values, name))
    if (changed.length === 0) return onDraft(undefined)
    setBusy(true)
    if (await save(Object.fromEntries(changed.map((attribute) => [attribute.name, parse(attribute, draft)]))))
      onDraft(undefined)
    setBusy(false)
  }
  return (
    <Section title="Attributes">
      <Form onSubmit={submit}>
        {attributes.map((attribute) => (
          <ValueField
            key={attribute.name}
            attribute={attribute}
            value={draft[attribute.name] ?? ''}
            onValue={(value) => onDraft({ ...draft, [attribute.name]: value })}
          />
        ))}
        <div class="row">
          <Button type="submit" kind="primary" busy={busy}>
            Save attributes
          </Button>
          <Button kind="plain" onClick={() => onDraft(undefined)}>
            Cancel
          </Button>
        </div>
      </Form>
    </Section>
  )
}

const BOOLEANS = [{ value: '', title: 'none' }, 'true', 'false'] as const

function ValueField({
  attribute: { name, type, many },
  value,
  onValue,
}: {
  readonly attribute: AdminAttribute
  readonly value: string
  readonly onValue: (value: string) => void
}) {
  const given = { label: name, value, onValue }
  if (many) return <TextArea {...given} rows={3} hint={`${type}, one value on each line.`} />
  if (type === 'Boolean') return <Select {...given} choices={BOOLEANS} />
  if (type === 'Date') return <TextField {...given} type="date" />
  return <TextField {...given} {...(type === 'Integer' && { inputMode: 'numeric', hint: 'A whole number.' })} />
}

function listValues(values: Values, name: string): readonly Value[] {
  return Object.hasOwn(values, name) ? (values[name] ?? []) : []
}

function joinValues(values: Values, name: string): string {
  return listValues(values, name).join('\n')
}

/** What is no value of its type stays a text, and the server says what is wrong with it. Null removes all values. */
function parse({ name, type, many }: AdminAttribute, draft: Readonly<Record<string, string>>): readonly Value[] | null {
  const text = draft[name] ?? ''
  const lines = (many ? text.split('\n') : [text]).map((line) => line.trim()).filter((line) => line !== '')
  if (lines.length === 0) return null
  return lines.map((line) => {
    if (type === 'Integer' && /^-?\d+$/.test(line)) return Number(line)
    return type === 'Boolean' && (line === 'true' || line === 'false') ? line === 'true' : line
  })
}
