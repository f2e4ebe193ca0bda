import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { useReadOnly } from './read-only';

interface CodeEditorProps {
  label: string;
  language: 'html' | 'xml';
  value: string;
  onChange(value: string): void;
}

/** HTML or XML as text. Tab leaves it, as every other field; loaded by the pages that need it. */
export function CodeEditor({ label, language, value, onChange }: CodeEditorProps) {
  const isReadOnly = useReadOnly();
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const told = useRef({ value, onChange });
  told.current = { value, onChange };
  useEffect(() => {
    const place = host.current;
    if (!place) return undefined;
    // In a shadow root its styles are adopted sheets, which the content security policy allows.
    const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
    const grammar = new Compartment();
    const view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: told.current.value,
        extensions: [
          ...[lineNumbers(), history(), drawSelection(), bracketMatching(), EditorView.lineWrapping],
          ...[syntaxHighlighting(HIGHLIGHTS), THEME, grammar.of([])],
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorState.readOnly.of(isReadOnly),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) told.current.onChange(state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    let isOpen = true;
    void grammarOf(language).then((found) => {
      if (isOpen) view.dispatch({ effects: grammar.reconfigure(found) });
    });
    return () => {
      isOpen = false;
      view.destroy();
    };
  }, [label, language, isReadOnly]);
  useEffect(() => {
    const view = editor.current;
    const shown = view?.state.doc.toString();
    if (view && shown !== value)
      view.dispatch({ changes: { from: 0, to: shown?.length ?? 0, insert: value } });
  }, [value]);
  return <div ref={host} className="code-editor" />;
}

async function grammarOf(language: CodeEditorProps['language']) {
  if (language === 'html') return (await import('@codemirror/lang-html')).html();
  return (await import('@codemirror/lang-xml')).xml();
}

/** Custom properties reach into a shadow root, so that it follows the console's appearance. */
const THEME = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: '0.875rem', maxHeight: '32rem' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', minHeight: '12rem', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--surface)', border: 'none' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
});

const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.tagName, tags.keyword], color: 'var(--accent)' },
  { tag: [tags.attributeName, tags.propertyName], color: 'var(--warn)' },
  { tag: [tags.attributeValue, tags.string, tags.number], color: 'var(--ok)' },
  { tag: [tags.comment, tags.angleBracket, tags.processingInstruction], color: 'var(--muted)' },
]);
