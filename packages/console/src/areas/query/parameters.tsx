/** The form for the parameters of a text: one field each, by the type of the column that it is compared with. */

import { FORMS } from 'gatehouse-iql'
import { useEffect, useState } from 'preact/hooks'
import type { Catalogue } from '../../editor/catalogue.ts'
import { findTables, isName, parameterNames, scan, unquoteName } from '../../editor/scan.ts'
import { Button, Select, TextField } from '../../ui/index.ts'
import type { GivenParameters } from './copy-as.ts'

export function ParameterForm({
  text,
  values,
  onValues,
  catalogue,
  onRun,
}: {
  readonly text: string
  readonly values: GivenParameters
  readonly onValues: (values: GivenParameters) => void
  readonly catalogue: Catalogue
  readonly onRun: () => void
}) {
  const names = parameterNames(text)
  const types = useTypes(text, names, catalogue)
  if (names.length === 0) return null
  return (
    <form
      class="query-parameters"
      aria-label="Parameters"
      onSubmit={(event) => {
        event.preventDefault()
        onRun()
      }}
    >
      {names.map((name) => (
        <ParameterField
          key={name}
          name={name}
          type={types.get(name.toLowerCase())}
          value={valueFor(values, name)}
          onValue={(value) => onValues({ ...values, [name]: value })}
        />
      ))}
      {/* Enter in a field runs the statement. */}
      <button type="submit" class="visually-hidden" tabIndex={-1}>
        Run
      </button>
    </form>
  )
}

function ParameterField({
  name,
  type,
  value,
  onValue,
}: {
  readonly name: string
  readonly type: string | undefined
  readonly value: string | null
  readonly onValue: (value: string | null) => void
}) {
  const kind = type?.split('(', 1)[0] ?? ''
  const label = /^\d/.test(name) ? `$${name}` : `:${name}`
  const isNull = value === null
  return (
    <div class="query-parameter">
      {kind === 'Boolean' && !isNull ? (
        <Select label={label} value={value} onValue={onValue} choices={['true', 'false']} />
      ) : (
        <TextField
          label={label}
          value={value ?? ''}
          onValue={onValue}
          placeholder={isNull ? 'NULL' : type === undefined ? 'a value' : exampleText(kind)}
          inputMode={kind === 'Integer' ? 'numeric' : kind === 'Decimal' || kind === 'Double' ? 'decimal' : 'text'}
          disabled={isNull}
        />
      )}
      {type !== undefined && <span class="query-parameter-type">{type}</span>}
      <Button
        kind="plain"
        size="small"
        aria-label={`${label} is NULL`}
        aria-pressed={isNull}
        onClick={() => onValue(isNull ? '' : null)}
      >
        NULL
      </Button>
    </div>
  )
}

/** An example, where the type has one. */
function exampleText(kind: string): string {
  if (kind === 'Text') return 'a text'
  if (kind === 'Integer') return 'a whole number'
  const form = new Map<string, string>(Object.entries(FORMS)).get(kind)
  return form?.replace(/^.* such as /, '').split(/,| or /, 1)[0] ?? 'a value'
}

/** Names are case-insensitive; the text may have been typed again. */
export function valueFor(values: GivenParameters, name: string): string | null {
  const known = Object.keys(values).find((key) => key.toLowerCase() === name.toLowerCase())
  return known === undefined ? '' : (values[known] ?? null)
}

/** Only the parameters in the text, spelled as they are there. */
export function valuesFor(text: string, values: GivenParameters): GivenParameters {
  return Object.fromEntries(parameterNames(text).map((name) => [name, valueFor(values, name)]))
}

/** Types by name in lower case, once the columns are loaded. */
function useTypes(text: string, names: readonly string[], catalogue: Catalogue): ReadonlyMap<string, string> {
  const [types, setTypes] = useState<ReadonlyMap<string, string>>(new Map())
  const compared = comparedColumns(text)
  const input = JSON.stringify([...compared])
  useEffect(() => {
    if (names.length === 0) return
    let isCurrent = true
    const tables = [...new Set(findTables(scan(text)).map(({ table }) => table))]
    Promise.all(tables.map((table) => catalogue.columns(table))).then((columns) => {
      const byName = new Map(columns.flat().map(({ name, type }) => [name.toLowerCase(), type]))
      const found = [...compared].flatMap(([parameter, column]) => {
        const type = byName.get(column)
        return type === undefined ? [] : [[parameter, type] as const]
      })
      if (isCurrent) setTypes(new Map(found))
    })
    return () => {
      isCurrent = false
    }
  }, [input])
  return types
}

const COMPARISONS = new Set(['=', '<>', '!=', '<', '>', '<=', '>=', 'like', 'ilike'])

/** `symbol = :symbol` and `:low <= price`: the column of each parameter. */
function comparedColumns(text: string): ReadonlyMap<string, string> {
  const code = scan(text).filter(({ kind }) => kind !== 'comment')
  const found = new Map<string, string>()
  code.forEach((span, index) => {
    if (span.kind !== 'parameter') return
    const [left, right] = [code[index - 2], code[index + 2]]
    const name = span.text.slice(1).toLowerCase()
    if (COMPARISONS.has(code[index - 1]?.key ?? '') && left !== undefined && isName(left))
      found.set(name, unquoteName(left).toLowerCase())
    else if (COMPARISONS.has(code[index + 1]?.key ?? '') && right !== undefined && isName(right)) {
      const column = code[index + 3]?.key === '.' ? (code[index + 4] ?? right) : right
      found.set(name, unquoteName(column).toLowerCase())
    }
  })
  return found
}
