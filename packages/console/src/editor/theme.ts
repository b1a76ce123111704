/** How the editor looks: the tokens of the page, which reach into its shadow root. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'light-dark(#7a2fb5, #cf9fff)', fontWeight: '550' },
  { tag: tags.atom, color: 'light-dark(#9a4600, #f0b072)' },
  { tag: tags.string, color: 'light-dark(#1a6b3c, #7fd8a2)' },
  { tag: tags.number, color: 'light-dark(#9a4600, #f0b072)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: tags.function(tags.variableName), color: 'light-dark(#155eb0, #84bdff)' },
  { tag: tags.special(tags.variableName), color: 'light-dark(#a3195b, #ff9ac7)', fontWeight: '550' },
  { tag: tags.typeName, color: 'light-dark(#0b6b73, #6fd3dc)' },
  { tag: tags.operator, color: 'var(--quiet)' },
  { tag: tags.punctuation, color: 'var(--quiet)' },
])

const frame = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 12px 0 8px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)', borderLeftWidth: '2px' },
  '.cm-gutters': { color: 'var(--quiet)', backgroundColor: 'var(--surface)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '36px', padding: '0 8px 0 12px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--text) 4%, transparent)' },
  '&.cm-focused .cm-activeLineGutter': { color: 'var(--text)', backgroundColor: 'transparent' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent)',
  },
  '.cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--accent) 12%, transparent)' },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-background)',
    outline: '1px solid var(--accent)',
  },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--danger-background)', color: 'var(--danger)' },
  '.cm-placeholder': { color: 'var(--quiet)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger) 1px',
    textUnderlineOffset: '3px',
    textDecorationSkipInk: 'none',
  },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
    fontFamily: 'var(--font)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12px', maxHeight: '240px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 10px', lineHeight: '20px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--text)',
    backgroundColor: 'var(--accent-background)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)', fontWeight: '600' },
  '.cm-completionDetail': { color: 'var(--quiet)', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-tooltip.cm-completionInfo': { maxWidth: '340px', padding: '8px 10px', fontSize: '12px', lineHeight: '18px' },
  // It would cover the list.
  '.cm-completionInfo-left-narrow, .cm-completionInfo-right-narrow': { display: 'none' },
  '.cm-completionInfo code': { fontFamily: 'var(--mono)', fontSize: '12px' },
  '.cm-completionInfo p': { margin: '4px 0' },
  '.cm-diagnostic': {
    padding: '6px 10px',
    borderLeft: '3px solid var(--danger)',
    fontSize: '12px',
    lineHeight: '18px',
  },
  '.cm-diagnosticText div + div': { color: 'var(--quiet)' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--inset)', fontFamily: 'var(--font)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '6px 32px 6px 12px', fontSize: '12px' },
  '.cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label': { fontSize: '12px' },
  '.cm-textfield': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--field)',
    borderRadius: '4px',
    padding: '3px 6px',
  },
  '.cm-button': {
    color: 'var(--text)',
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: '4px',
    padding: '3px 8px',
  },
  '.cm-panel button[name=close]': { color: 'var(--quiet)', fontSize: '18px', right: '8px' },
  '.cm-searchMatch': { backgroundColor: 'color-mix(in srgb, var(--warn) 25%, transparent)' },
  '.cm-searchMatch-selected': { outline: '2px solid var(--accent)' },
})

export const theme = [frame, syntaxHighlighting(colours)]
