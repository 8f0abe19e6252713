"""Which memories belong to a question."""
