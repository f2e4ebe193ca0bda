const renderToStaticMarkup = load();

exports.renderLayout = (document) => renderToStaticMarkup(document, { rootBlockId: 'root' });

/**
 * React picks its build when it is loaded. The one for development is several times slower, and writes
 * what it thinks of a document, with the document's texts, to standard error.
 */
function load() {
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  try {
    return require('@usewaypoint/email-builder').renderToStaticMarkup;
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}
