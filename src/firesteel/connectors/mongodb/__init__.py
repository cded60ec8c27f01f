"""Connector for collections of MongoDB; needs the package pymongo (the extra ``mongodb``)."""
