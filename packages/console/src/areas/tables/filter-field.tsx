/** The condition of a row filter, typed in an editor that completes the columns and what is known of the caller. */
import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { AdminAttribute } from '../../../../client/src/index.ts'
import { read } from '../../admin/requests.ts'
import type { EditorProps } from '../../editor/editor.tsx'
import { may } from '../../gate.ts'
import { Field, TextArea, useLoad } from '../../ui/index.ts'

export function FilterField({
  value,
  columns,
  onValue,
}: {
  readonly value: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly onValue: (value: string) => void
}) {
  const Editor = useEditor()
  const { data: attributes = [] } = useLoad(loadAttributes, [])
  const expression = useMemo(() => ({ columns, variables: [...CALLER, ...attributes] }), [columns, attributes])
  const field = {
    label: 'Row filter',
    hint: 'A condition. Callers see the rows for which it is true, and can write no others. Ctrl-Space offers the columns and the variables of the caller.',
  }
  if (Editor === 'failed')
    return <TextArea {...field} rows={2} placeholder={PLACEHOLDER} value={value} onValue={onValue} />
  return (
    <Field {...field}>
      {() => (
        <div class="filter-editor">
          {Editor !== undefined && (
            <Editor
              label={field.label}
              value={value}
              onChange={onValue}
              expression={expression}
              placeholder={PLACEHOLDER}
            />
          )}
        </div>
      )}
    </Field>
  )
}

const PLACEHOLDER = 'owner = :username'

const CALLER: readonly { readonly name: string; readonly about: string }[] = [
  { name: ':username', about: 'The username of the caller' },
  { name: ':sub', about: 'The id of the user, or of the application without a user' },
  { name: ':client', about: 'The application that asks' },
  { name: ':roles', about: 'The roles of the user: column = :roles is true for any of them' },
]

/** Those who may not administer identities have to know the names. */
async function loadAttributes(signal: AbortSignal): Promise<readonly { name: string; about: string }[]> {
  if (!may('Identity/Admin')) return []
  const { items } = await read<{ items: readonly AdminAttribute[] }>('/admin/attributes', signal)
  return items.map(({ name, type }) => ({ name: `:attribute.${name}`, about: `Attribute of the caller: ${type}` }))
}

/** Loaded when a form needs it; undefined until then. */
function useEditor(): ComponentType<EditorProps> | 'failed' | undefined {
  const [loaded, setLoaded] = useState<{ readonly Editor: ComponentType<EditorProps> | 'failed' }>()
  useEffect(() => {
    import('../../editor/editor.tsx').then(
      ({ Editor }) => setLoaded({ Editor }),
      () => setLoaded({ Editor: 'failed' }),
    )
  }, [])
  return loaded?.Editor
}
