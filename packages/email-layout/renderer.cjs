const { renderToStaticMarkup } = require('@usewaypoint/email-builder');

exports.renderLayout = (document) => renderToStaticMarkup(document, { rootBlockId: 'root' });
